"""Which models of libraries are known to train BatchNorm layers by default."""

import pytest
from reading import only, read

from ddpdoctor.events import ModelWrapped

HEAD = """
import cnn_finetune, efficientnet_pytorch, monai, pretrainedmodels, timm, torch, torchvision, transformers
import sync_batchnorm
import segmentation_models_pytorch as smp
from efficientnet_pytorch import EfficientNet
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
"""


def has_norms(folder, made):
    return bool(only(read(folder, f"DDP({made})\n", head=HEAD).of(ModelWrapped)).norms)


@pytest.mark.parametrize(
    "made",
    [
        "EfficientNet.from_pretrained('efficientnet-b3', num_classes=10)",
        "efficientnet_pytorch.model.EfficientNet.from_name('efficientnet-b0')",
        "pretrainedmodels.se_resnext50_32x4d(pretrained='imagenet')",
        "pretrainedmodels.__dict__['xception'](num_classes=1000)",
        "cnn_finetune.make_model('resnet50', num_classes=10)",
        "smp.Unet('mit_b0')",
        "smp.FPN(encoder_name='timm-efficientnet-b0')",
        "smp.DeepLabV3Plus()",
        "monai.networks.nets.DenseNet121(spatial_dims=3, in_channels=1, out_channels=2)",
        "transformers.ResNetForImageClassification.from_pretrained('microsoft/resnet-50')",
        "timm.create_model('seresnext50_32x4d')",
        "sync_batchnorm.SynchronizedBatchNorm2d(8)",
        "nn.Sequential(nn.Linear(2, 2), sync_batchnorm.batchnorm.SynchronizedBatchNorm1d(2))",
        "nn.Sequential(EfficientNet.from_name('efficientnet-b0'), nn.Linear(1000, 2))",
    ],
)
def test_architectures_with_batch_norm(tmp_path, made):
    assert has_norms(tmp_path, made)


@pytest.mark.parametrize(
    "made",
    [
        "smp.FPN('mit_b0')",
        "smp.Unet('mit_b0', decoder_use_batchnorm=False)",
        "monai.networks.nets.UNet(3, 1, 2, (16, 32), (2,))",
        "monai.networks.nets.DenseNet121(3, 1, 2, norm='instance')",
        "pretrainedmodels.vgg16()",
        "timm.create_model('nf_regnet_b1')",
        "timm.create_model('resnetv2_50x1_bit')",
        "timm.create_model('vit_base_patch16_224')",
        "transformers.ViTModel.from_pretrained('google/vit-base-patch16-224')",
        "transformers.ResNetConfig()",
    ],
)
def test_architectures_without(tmp_path, made):
    assert not has_norms(tmp_path, made)


def test_a_subclass_of_an_architecture_has_its_layers(tmp_path):
    text = """
    class Net(EfficientNet):
        pass

    class Other(torchvision.models.VisionTransformer):
        pass

    DDP(Net.from_name("efficientnet-b0"))
    DDP(torchvision.models.ResNet(torchvision.models.resnet.BasicBlock, [1, 1, 1, 1]))
    DDP(Other())
    """
    assert [len(event.norms) for event in read(tmp_path, text, head=HEAD).of(ModelWrapped)][1:] == [1, 0]
